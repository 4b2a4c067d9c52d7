// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What MPI_THREAD_MULTIPLE costs: exchanges of BYTES between two ranks under the thread level asked for.
//   bench/paired.py 'mpirun -n 2 thread_level multiple 1024' 'mpirun -n 2 thread_level single 1024'
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  const bool multiple = argc > 1 && std::string(argv[1]) == "multiple";
  const int bytes = argc > 2 ? std::atoi(argv[2]) : 1024;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<char> out(static_cast<std::size_t>(bytes)), in(out);
  std::vector<double> times;
  for (int i = 0; i < 21; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const auto begin = std::chrono::steady_clock::now();
    for (int round = 0; round < 2000; ++round) {
      MPI_Request requests[2];
      MPI_Irecv(in.data(), bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &requests[0]);
      MPI_Isend(out.data(), bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / 2000);
  }
  std::sort(times.begin(), times.end());
  if (rank == 0) std::printf("exchanges/s %.0f\n", 1 / times[times.size() / 2]);
  MPI_Finalize();
  return 0;
}
