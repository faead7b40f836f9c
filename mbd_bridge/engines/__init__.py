"""Other engines: pinocchio, pybullet, MuJoCo; and the comparison with them."""
