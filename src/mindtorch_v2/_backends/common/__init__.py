"""Parts that back ends of devices with memory and streams of their own share: each gives its runtime to them."""
