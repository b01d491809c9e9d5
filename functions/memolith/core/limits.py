"""Limits of the API, in one place. Source: docs/api-compatibility.md."""

from __future__ import annotations

CONTENT_MAX_BYTES = 102_400

PATH_MAX_BYTES = 1_024

PATH_MAX_SEGMENTS = 20

STORE_NAME_MAX_CHARS = 255

DESCRIPTION_MAX_CHARS = 1_024

METADATA_MAX_PAIRS = 16

METADATA_KEY_MAX_CHARS = 64

METADATA_VALUE_MAX_CHARS = 512

SCAN_ALLOW_MAX_RULES = 64

RELEASE_REASON_MAX_CHARS = 500

RULE_ID_MAX_CHARS = 100

REGION_MAX_CHARS = 32

INSTANT_MAX_CHARS = 64
"""Of an RFC 3339 date and time: 35 with microseconds and an offset."""

LIST_DEFAULT = 20

LIST_MAX = 100

LIST_MAX_FULL = 20

LIST_MAX_FULL_BYTES = 850_000
"""Content in one page of a full listing: a byte may take seven in Lambda's answer, which ends at 6,291,556."""

SEARCH_QUERY_MAX_CHARS = 1_000

SEARCH_LIMIT_DEFAULT = 10

SEARCH_LIMIT_MAX = 50

SEARCH_FILTER_MAX_CHARS = 100

TAGS_MAX = 64
"""How many tags of one memory are kept: in the graph, and to filter a search by."""

SEARCH_TAGS_ASKED_MAX = 8

TIMEFRAME_MAX_CHARS = 64

TIMEFRAME_MAX_DAYS = 366
"""How far back recent activity reaches."""

ACTIVITY_TIMEFRAME = "7d"

ACTIVITY_PAGE_MAX = 100

GRAPH_DEPTH_MAX = 3

GRAPH_LIMIT_DEFAULT = 50

GRAPH_LIMIT_MAX = 100

GRAPH_MAX_BYTES = 425_000
"""Names, statements and relations in one answer; with the contents of a context, `LIST_MAX_FULL_BYTES`."""

GRAPH_TYPES_MAX = 16
"""Types of relations that one call may name."""

RECALL_LIMIT = 5

RECALL_TOKENS_DEFAULT = 4_000

RECALL_TOKENS_MAX = 50_000

RECALL_TOOLS_MAX = 32

RECALL_LOADED_MAX = 100
"""Tools, and memories already loaded, that one call may name: both are in its URL."""

CONTEXT_PAGE_MAX = 50

CONTEXT_PAGES_MAX = 200

CONTEXT_RELATED_MAX = 100

LOAD_MAX_MEMORIES = 1_000

LOAD_MAX_BYTES = 5_000_000
"""What the contents of one page of a whole store may take in Lambda's answer, which ends at 6,291,556."""

CURSOR_LIFETIME_US = 7 * 24 * 3600 * 1_000_000

MEMORIES_PER_STORE_DEFAULT = 10_000

ERASE_DELAY_DAYS_DEFAULT = 7

ERASE_DELAY_DAYS_MAX = 365
"""For how many days a deleted store can be restored before it is erased."""

RETENTION_DAYS_DEFAULT = 30

RETENTION_DAYS_MAX = 3_650

RETENTION_VERSIONS_DEFAULT = 10

RETENTION_VERSIONS_MAX = 1_000
"""How long a version is kept after it was superseded, and how many of a live memory's last are kept however old."""

TRANSCRIPT_DAYS_DEFAULT = 30
"""For how many days a part of a transcript is kept where none of the session's stores says otherwise."""

TRANSCRIPT_EVENTS_MAX = 500

TRANSCRIPT_MAX_BYTES = 1_000_000

TRANSCRIPT_OBJECTS_MAX = 20_000
"""Events that one call may bring, what its body may take, and the JSON objects in it: forty for each event."""

EVENT_TYPE_MAX_CHARS = 64

CLIENT_EVENT_ID_MAX_CHARS = 128

OBJECT_METADATA_MAX_BYTES = 2_048
"""User metadata of one S3 object, keys and values together. Source: S3 user guide, UsingMetadata."""

FLAGS_MAX_BYTES = 200
"""What a version's flags may take of that, commas and all. The longest path, region and actor, and a
trust class, leave 227 bytes."""

SESSION_STORES_MAX = 8

KEY_STORES_MAX = 16
"""Stores that one API key may be limited to: its row is read with every call."""

KEY_REQUESTS_PER_MINUTE_MAX = 1_000_000
"""The largest limit that a key can be given; one without a limit has none at all."""

INSTRUCTIONS_MAX_CHARS = 4_096

DREAM_SESSIONS_MAX = 100

DREAM_MODEL_MAX_CHARS = 256

SESSION_TITLE_MAX_CHARS = 255

TOKEN_LIFETIME_DEFAULT_S = 3_600

TOKEN_LIFETIME_MIN_S = 60

TOKEN_LIFETIME_MAX_S = 12 * 3_600
"""How long a session's token may be valid; a new one is asked for with an API key."""

CLAIM_LIFETIME_US = 5_000_000
"""How long others yield to a claimed path. Safety does not rest on it: breaking a claim takes its slot first."""

CLOCKS_APART_US = 5_000_000
"""By how much the clocks of a home's functions are taken to differ, at most, where a claim is judged. AWS keeps them
within milliseconds of each other; where they differ more, claims are broken whose creator may still be at work."""

CONTROL_AGE_US = 2_000_000
"""For how long a Lambda process goes by what it has read of which tables serve (ADR 46)."""

LEASE_US = 3_000_000
"""For how long after it began to read a store's record a call may answer as the store's home without reading it again.

By the ticks of its own process; never beyond one invocation.
"""

INDEXER_LEASE_US = 500_000
"""For how long after it began to read a store's record an indexer projects by it without looking at it again. A
failover takes longer (`homes.failover`)."""

DRAIN_S = 5.0
"""How long a region that ends a home's term waits, until no lease can be valid at any pace of either clock."""

LAPTOP_LEASE_US = 250_000
"""`LEASE_US` where all of a deployment is on one machine, whose calls take milliseconds; a longer one checks again."""

LAPTOP_DRAIN_S = 0.45
"""`DRAIN_S` for such leases, in the same proportion."""

SOURCES_MAX = 16
"""Versions that one write may name as its sources: their rows are read with the memory's own."""

IMPORT_MAX_VERSIONS = 50
"""Versions that one call brings in; each costs as much as a write."""

IMPORT_AHEAD_MAX_US = 24 * 3600 * 1_000_000
"""By how much an imported version's time may be ahead of the clock: clocks differ, and later versions follow it."""

WRITE_ATTEMPTS = 12
"""How often a write decides again after losing a slot before it answers Busy."""

ACKNOWLEDGED_WITHIN_US = 60_000_000
"""How much later than the time it bears a version may be acknowledged: the 29 s of a writer's life, and as much again
for clocks that disagree."""

PROPOSAL_EDITS_MAX = 60

PROPOSAL_MAX_BYTES = 1_000_000
"""What one proposal holds at most: edits, and the bytes of all their texts. It is one object, and is sent whole."""

PROPOSAL_SOURCES_MAX = 100
"""Different versions that all edits of a proposal name as sources: their rows are one batch read."""

PROPOSAL_WHY_MAX_CHARS = 1_000

PROPOSAL_KEY_MAX_CHARS = 64
"""What a caller may name a proposal by, so that a repeated call opens no second one."""

PROPOSALS_OPEN_MAX = 1_000
"""Open proposals of one store: what nobody decides must not grow without end."""

PROPOSAL_LIFETIME_US = 30 * 24 * 3600 * 1_000_000
"""After how long an open proposal expires."""

PROPOSAL_KEPT_US = 30 * 24 * 3600 * 1_000_000
"""For how long the texts of a proposal are kept after it was decided."""

PROPOSAL_RESUMED_US = 60_000_000
"""How long after it was decided a proposal that is not carried out to its end is taken up again."""

APPROVAL_PATHS_MAX = 16

APPROVAL_PREFIX_MAX_CHARS = 256
"""Folders of a store in which every write waits for approval: the store's record is read with every call."""

DREAM_DELETES_DEFAULT = 5

DREAM_DELETES_PERCENT_DEFAULT = 10

DREAM_DELETES_MAX = 60
"""How many memories a dream may delete at once, unless its store says otherwise; as many edits as it has at most."""

AUTO_IDLE_HOURS_DEFAULT = 6

AUTO_IDLE_HOURS_MAX = 240
"""For how long nothing was said in a session before it is extracted by itself."""

AUTO_AGE_DAYS = 10
"""How long ago a session may have begun of which anything is made by itself."""

AUTO_DREAM_HOURS_DEFAULT = 24

AUTO_DREAM_HOURS_MAX = 720

AUTO_DREAM_SESSIONS_DEFAULT = 5
"""In how many sessions something new has to have been said before a store is consolidated by itself."""

AUTO_SESSIONS_PER_RUN = 20
"""About so many a model is asked at once; the others wait for the next look."""

AUTO_SESSIONS_SCANNED = 5_000
"""Sessions of a workspace, the newest, that are looked at for a store."""

REMARK_MAX_CHARS = 2_000

REMARK_PARTS_MAX = 20
"""Logs of one day, each of at most `CONTENT_MAX_BYTES`."""

REMARKS_PER_DREAM = 500
"""The oldest since the last dream, which a dream is handed; the others are the next one's."""

DREAM_TOKENS_MIN = 10_000

DREAM_TOKENS_MAX = 2_000_000
"""How many tokens a dream may use, and the least that a store may allow instead: a question's answer takes as many."""

STORE_TOKENS_PER_DAY_MAX = 1_000_000_000
"""The greatest budget of a day that a store may set."""

UNUSED_DAYS_DEFAULT = 30

UNUSED_DAYS_MAX = 365
"""After how many days without a use a memory is recalled after others that are as good."""

USED_MEMORIES_MAX = 10_000
"""Memories of a store of which uses are counted; those that were used last."""

CITATIONS_MAX = 50
"""Memories that one call cites."""

CITATION_NOTE_MAX_CHARS = 1_000
