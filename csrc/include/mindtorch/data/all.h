// torch::data: datasets, transforms, samplers and loaders.
#pragma once

#include <mindtorch/data/chunks.h>
#include <mindtorch/data/datasets.h>
#include <mindtorch/data/loader.h>
#include <mindtorch/data/samplers.h>
#include <mindtorch/data/transforms.h>
