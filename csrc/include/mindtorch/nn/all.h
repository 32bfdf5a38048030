// torch::nn: layers, their functions, containers and how parameters begin.
#pragma once

#include <mindtorch/nn/containers.h>
#include <mindtorch/nn/layers.h>
