"""Triangle meshes: read, check, repair, smooth, cut, write."""
