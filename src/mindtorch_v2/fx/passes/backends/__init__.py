"""Parts of graphs for particular ways of running them."""
