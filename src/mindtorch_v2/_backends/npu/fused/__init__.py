"""The ACLNN operators that do the work of the rows of Ascend's own namespaces (`..rows`) on NPUs, by families."""
