// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/application.h"

int main(int argc, char** argv) { return dprof::widgets::run_application(argc, argv); }
