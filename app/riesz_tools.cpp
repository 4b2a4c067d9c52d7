// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/commands/bodies.h"
#include "riesz/app/doctor/doctor.h"
#include "riesz/app/jobs/classify.h"
#include "riesz/app/jobs/convert.h"
#include "riesz/app/jobs/evaluate.h"
#include "riesz/app/jobs/explain.h"
#include "riesz/app/jobs/generate.h"
#include "riesz/app/jobs/inspect.h"
#include "riesz/app/jobs/plan_memory.h"
#include "riesz/app/jobs/predict.h"
#include "riesz/app/jobs/schedule.h"
#include "riesz/app/jobs/tokenize.h"
#include "riesz/app/jobs/train.h"
#include "riesz/app/jobs/verify.h"

namespace riesz::app {

const Bodies kBodies{.train = train,
                     .generate = generate_text,
                     .evaluate = evaluate_report,
                     .classify = classify_images,
                     .predict = predict_fields,
                     .convert = convert_report,
                     .tokenize = tokenize_report,
                     .inspect =
                         [](const std::string& path, const std::string& other, Form form) {
                           return other.empty() ? inspect_report(path, form)
                                                : difference_report(path, other, form);
                         },
                     .explain = explain_report,
                     .plan_memory = memory_plan,
                     .verify = verify_report,
                     .schedule = schedule_report,
                     .doctor = diagnose,
                     .check_rank = check_rank,
                     .check_host = check_host,
                     .check_schedule = check_schedule};

}  // namespace riesz::app
