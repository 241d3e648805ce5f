"""Files as they lie on a disk: what their names say, which are ignored, which text their bytes hold."""
