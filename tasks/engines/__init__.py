"""The engines that carry jobs to workers."""
