// Allocators, those of devices among them.
#pragma once

#include <mindtorch/data_pointer.h>
#include <mindtorch/own_device.h>
