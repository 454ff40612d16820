"""The procedures, one a file, each with its proof."""
