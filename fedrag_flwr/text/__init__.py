"""One pass over the text: segmentation, typed facts and anchors."""
