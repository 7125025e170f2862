"""Kafka's configs of brokers, topics, groups and client metrics: definitions, valid values, and what kwire does."""

from .config_store import BROKER_DEFAULT as BROKER_DEFAULT
from .config_store import ConfigStore as ConfigStore
from .config_store import ConfigSynonym as ConfigSynonym
from .definitions import Definition as Definition
from .definitions import definitions_of as definitions_of
from .effects import Effect as Effect
from .effects import effect_of as effect_of
from .values import check_configs as check_configs
