"""The tables of docs, each from results. A function has the name of its table, with _ for -, and returns Markdown."""

from .attention import *
from .collapse import *
from .common import one
from .paths import *
from .results import *
from .theory import *
from .training import *
