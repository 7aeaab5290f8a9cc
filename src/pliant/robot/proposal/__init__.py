"""A hand without a description: its URDF is examined and a description proposed."""
