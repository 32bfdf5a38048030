"""Coverage-guided fuzzing: targets through Python (`targets/`), native ones (`native/`), their corpora, and how they are run."""
