"""Make the site: `python -m tools.site`, called by `make site`. docs/decisions/site.md says with what and why."""
