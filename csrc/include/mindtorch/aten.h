// What <ATen/ATen.h> brings: tensors, their functions, the macros that dispatch on element types.
#pragma once

#include <ATen/NativeFunctions.h>
#include <mindtorch/config.h>
#include <mindtorch/context.h>
#include <mindtorch/dispatch.h>
#include <mindtorch/functions.h>
#include <mindtorch/logging.h>
