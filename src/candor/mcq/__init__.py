"""The multiple-choice track (paper: Nowak et al., "ABCD: All Biases Come Disguised")."""
