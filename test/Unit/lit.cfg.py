# Lets lit find and run the GoogleTest programs under unittests/.

import os
import sys

import lit.formats

sys.path.append(os.path.dirname(os.path.dirname(__file__)))

from seed import VARIABLE, find_seed

config.name = "CommSched-Unit"
config.suffixes = []
config.test_source_root = os.path.join(config.commsched_obj_root, "unittests")
config.test_exec_root = config.test_source_root
config.test_format = lit.formats.GoogleTest(".", "Tests")
config.environment[VARIABLE] = str(find_seed())
