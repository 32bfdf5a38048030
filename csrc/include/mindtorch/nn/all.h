// torch::nn: layers, their functions, containers and how parameters begin.
#pragma once

#include <mindtorch/nn/adaptive.h>
#include <mindtorch/nn/containers.h>
#include <mindtorch/nn/embedding_bag.h>
#include <mindtorch/nn/layers.h>
#include <mindtorch/nn/losses.h>
#include <mindtorch/nn/norms.h>
#include <mindtorch/nn/pools.h>
#include <mindtorch/nn/recurrent.h>
#include <mindtorch/nn/shapes.h>
#include <mindtorch/nn/transformer.h>
#include <mindtorch/nn/utils.h>
