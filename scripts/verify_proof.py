"""Check a proof of ``memolith audit prove``, or of the API's ``…/proof``, with a public key, and nothing of Memolith.

    python verify_proof.py PROOF.json KEYS.json [TEXT]

KEYS.json is what ``memolith audit keys`` printed when you began to trust the deployment; keep it yourself. TEXT is a
file with the version's claimed text. It needs the package ``cryptography`` alone. Exit code 1: not proven.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, utils
from cryptography.hazmat.primitives.hashes import SHA256


class NotProvenError(Exception):
    """One step of the proof does not hold."""


def raw(text: str) -> bytes:
    """Decode base64url without padding."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def check_signature(keys: list[dict[str, str]], seal: dict[str, str], statement: bytes) -> None:
    """Check the signature under the statement, by the one of the trusted keys that it names."""
    key = next((one for one in keys if one["kid"] == seal["key_id"]), None)
    if key is None:
        raise NotProvenError("it is signed by a key that is not among the trusted ones")
    signature = raw(seal["signature"])
    try:
        if key["kty"] == "OKP":
            ed25519.Ed25519PublicKey.from_public_bytes(raw(key["x"])).verify(signature, statement)
            return
        x, y = (int.from_bytes(raw(key[axis]), "big") for axis in "xy")
        public = ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()
        half = len(signature) // 2
        pair = (int.from_bytes(signature[:half], "big"), int.from_bytes(signature[half:], "big"))
        public.verify(utils.encode_dss_signature(*pair), statement, ec.ECDSA(SHA256()))
    except (InvalidSignature, ValueError) as error:
        raise NotProvenError("the signature does not hold") from error


def root_of(index: int, size: int, node: bytes, path: list[bytes]) -> bytes | None:
    """Return the root above a leaf; None for a proof that no such tree has. Source: RFC 9162, section 2.1.3.2."""
    if not 0 <= index < size:
        return None
    last = size - 1
    for beside in path:
        if last == 0:
            return None
        if index & 1 or index == last:
            node = hashlib.sha256(b"\1" + beside + node).digest()
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            node = hashlib.sha256(b"\1" + node + beside).digest()
        index, last = index >> 1, last >> 1
    return node if last == 0 else None


def signed_statement(part: dict[str, Any]) -> str:
    """Return what is signed: the statement itself, or the last of the chain, each of which states the one before."""
    last: str = part["statement"]
    for following in part.get("chain", []):
        if json.loads(following)["previous_statement"] != hashlib.sha256(last.encode()).hexdigest():
            raise NotProvenError("a statement of the chain does not state the one before it")
        last = following
    return last


def included(part: dict[str, Any], keys: list[dict[str, str]]) -> dict[str, Any]:
    """Check that a name stands in a signed tree; return the statement. Raises NotProvenError."""
    check_signature(keys, part["seal"], signed_statement(part).encode())
    statement: dict[str, Any] = json.loads(part["statement"])
    leaf = hashlib.sha256(b"\0" + json.dumps(part["name"], separators=(",", ":")).encode()).digest()
    root = root_of(part["index"], statement["count"], leaf, [bytes.fromhex(node) for node in part["path"]])
    if root is None or root.hex() != statement["root"]:
        raise NotProvenError("the version is not in the signed tree")
    return statement


def is_sealed(name: list[str], nonce: str, metadata: dict[str, str], sha256: str) -> bool:
    """Tell whether the digest in a name was made from this."""
    covered = json.dumps([nonce, name[0], sorted(metadata.items()), sha256]).encode()
    return name[2].startswith("1" + base64.urlsafe_b64encode(hashlib.sha256(covered).digest()).decode().rstrip("="))


def check_erased(proof: dict[str, Any], keys: list[dict[str, str]]) -> str:
    """Check that a version was acknowledged, and an order that erased it. Raises NotProvenError."""
    version, order = proof["version"], proof["order"]
    seen, erased = included(version, keys), included(order, keys)
    if not is_sealed(order["name"], "", {}, hashlib.sha256(order["body"].encode()).hexdigest()):
        raise NotProvenError("the order is not what was sealed")
    told, place = json.loads(order["body"]), version["name"][0].split("/log/")[1]
    if told["version_id"] != version["name"][1] or not place.startswith(told["store_id"] + "/"):
        raise NotProvenError("the order is one to erase another version")
    said = f"acknowledged in period {seen['period']} of {seen['home']}, and erased by order {order['name'][0]}"
    return f"proven: version {told['version_id']}, {said} of {told['redacted_by']}, in its period {erased['period']}"


def check(proof: dict[str, Any], keys: list[dict[str, str]], text: bytes | None) -> str:
    """Check every step; return what is proven. Raises NotProvenError."""
    if proof["memolith_proof"] not in (1, 2):
        raise NotProvenError("it is of a format that this script does not know; take a newer one")
    if "order" in proof:
        return check_erased(proof, keys)
    statement, opening = included(proof, keys), proof["opening"]
    metadata = opening["metadata"]
    if not is_sealed(proof["name"], opening["nonce"], metadata, ""):
        raise NotProvenError("what is said of the version is not what was sealed")
    if text is not None and hashlib.sha256(text).hexdigest() != metadata.get("sha"):
        raise NotProvenError("the text is not that of the version")
    said = f"{metadata['op']} by {metadata.get('by')}, in period {statement['period']} of {statement['home']}"
    return f"proven: version {metadata['id']}, {said}" + (", with this text" if text is not None else "")


def main(proof: str, keys: str, text: str | None = None) -> int:
    """Check the files, and return the exit code."""
    try:
        trusted = json.loads(Path(keys).read_text())["keys"]
        claimed = None if text is None else Path(text).read_bytes()
        told = check(json.loads(Path(proof).read_text()), trusted, claimed)
    except (NotProvenError, LookupError, ValueError, TypeError) as error:
        print(f"NOT PROVEN: {error}", file=sys.stderr)
        return 1
    print(told)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
