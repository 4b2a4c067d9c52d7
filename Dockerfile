# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# An image with the installed program and its launcher, for Docker, Podman and buildah.
#   docker build -t riesz --build-arg RIESZ_COMMIT="$(git describe --always --dirty --abbrev=10)" .
#   docker run --rm riesz riesz-mpirun -n 2 riesz doctor
#   docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/work" riesz riesz-mpirun -n 4 riesz train my.toml
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS build
# So many compilations at once, of up to 2 GB each; by default one a processor, as far as memory reaches.
ARG JOBS
WORKDIR /src
# What set-up reads comes first: then a change of the sources fetches nothing again.
COPY scripts/setup.sh scripts/fetch.sh scripts/wheels.txt scripts/
COPY cmake/RieszFindLibTorch.cmake cmake/
RUN scripts/setup.sh
COPY . .
# What `riesz --version` says; behind the fetched files, which stay as they are for it.
ARG RIESZ_COMMIT
RUN scripts/image/build.sh

FROM ${BASE}
COPY scripts/image/packages.sh /tmp/
RUN /tmp/packages.sh && rm /tmp/packages.sh && useradd --uid 1000 --create-home riesz && install -d -o riesz -g riesz /work
COPY --from=build /opt/riesz /opt/riesz
ENV PATH=/opt/riesz/bin:$PATH
USER riesz
WORKDIR /work
CMD ["riesz", "help"]
