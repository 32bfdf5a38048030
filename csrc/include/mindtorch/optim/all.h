// torch::optim: optimizers and schedules.
#pragma once

#include <mindtorch/optim/lbfgs.h>
#include <mindtorch/optim/optimizers.h>
#include <mindtorch/optim/schedulers.h>
