"""Parts of experiments that several scripts share."""
