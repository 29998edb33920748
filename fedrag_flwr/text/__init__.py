"""One pass over the text: segmentation, typed facts, anchors and evidence tuples."""
