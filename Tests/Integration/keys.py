"""Provider tokens made by hand, so that each of them can also be made wrong."""

import base64
import hmac
import json
import time
from typing import Callable

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

#: As the value of a header or a claim: leave it out.
ABSENT = object()


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def padded_out(text: bytes) -> bytes:
    """White space at the end of JSON, so that base64 needs padding."""
    return text if len(text) % 3 else text + b" "


def compact(value: dict) -> bytes:
    return json.dumps({k: v for k, v in value.items() if v is not ABSENT}, separators=(",", ":")).encode()


class Keys:
    """A signing key with its names. `clock` is the gateway's time, which a test may have moved."""

    def __init__(self, pem: str | None, key_id: str, team: str, clock: Callable[[], float] = time.time):
        self.pem = pem
        self.private = (
            serialization.load_pem_private_key(pem.encode(), None) if pem else ec.generate_private_key(ec.SECP256R1())
        )
        self.key_id = key_id
        self.team = team
        self.clock = clock

    @property
    def public_pem(self) -> str:
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return self.private.public_key().public_bytes(serialization.Encoding.PEM, form).decode()

    def der_signature(self, text: bytes) -> bytes:
        """ECDSA over SHA-256 as OpenSSL and Java print it."""
        return self.private.sign(text, ec.ECDSA(hashes.SHA256()))

    def raw_signature(self, text: bytes) -> bytes:
        """The same as JOSE wants it: r and s, 32 bytes each."""
        r, s = decode_dss_signature(self.der_signature(text))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")

    def hmac_signature(self, text: bytes) -> bytes:
        """HS256 with the public key as the secret: the classic confusion attack."""
        return hmac.digest(self.public_pem.encode(), text, "sha256")

    @staticmethod
    def es384_signature(text: bytes) -> bytes:
        """A valid ES384 signature, by a P-384 key that nobody knows."""
        r, s = decode_dss_signature(ec.generate_private_key(ec.SECP384R1()).sign(text, ec.ECDSA(hashes.SHA384())))
        return r.to_bytes(48, "big") + s.to_bytes(48, "big")

    def token(
        self,
        issued: float = 0,
        header: dict | None = None,
        claims: dict | None = None,
        sign: Callable[[bytes], bytes] | None = None,
    ) -> str:
        """A token issued `issued` seconds from now. `header` and `claims` overwrite fields; ABSENT removes one."""
        head = {"alg": "ES256", "kid": self.key_id} | (header or {})
        body = {"iss": self.team, "iat": int(self.clock() + issued)} | (claims or {})
        text = f"{base64url(compact(head))}.{base64url(compact(body))}"
        return f"{text}.{base64url((sign or self.raw_signature)(text.encode()))}"

    def padded_token(self) -> str:
        """A good token but for the `=` at the end of its segments, which the signature covers."""
        head = {"alg": "ES256", "kid": self.key_id, "x": "1"}
        body = {"iss": self.team, "iat": int(self.clock())}
        segments = [base64.urlsafe_b64encode(padded_out(compact(part))).decode() for part in (head, body)]
        signature = self.raw_signature(".".join(segments).encode())
        return ".".join([*segments, base64.urlsafe_b64encode(signature).decode()])

    def bearer(self, **fields) -> str:
        """The value of `authorization`."""
        return f"bearer {self.token(**fields)}"
