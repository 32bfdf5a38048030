// torch::nn: layers, their functions, containers and how parameters begin.
#pragma once

#include <mindtorch/nn/containers.h>
#include <mindtorch/nn/layers.h>
#include <mindtorch/nn/norms.h>
#include <mindtorch/nn/recurrent.h>
#include <mindtorch/nn/shapes.h>
#include <mindtorch/nn/utils.h>
