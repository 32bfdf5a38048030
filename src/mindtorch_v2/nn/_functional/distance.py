"""Distances and similarities."""

from ._bind import op

cosine_similarity = op("cosine_similarity")
pairwise_distance = op("pairwise_distance")
pdist = op("pdist")
