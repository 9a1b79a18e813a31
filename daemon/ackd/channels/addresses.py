"""Which addresses a webhook may reach: public ones, and private or loopback ones only by word."""

from __future__ import annotations

import ipaddress

_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def is_public(address: str) -> bool:
    """Tell whether an address is one of the public internet.

    Private, loopback, link-local, shared (100.64/10), multicast and reserved ones are not, nor is an IPv6 form that
    only wraps one of them (IPv4-mapped, 6to4, Teredo, NAT64).

    Args:
        address: An IPv4 or IPv6 address as the resolver gives it, with or without a scope.
    """
    try:
        one = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(one, ipaddress.IPv6Address):
        inner = [one.ipv4_mapped, one.sixtofour, *(one.teredo or ())]
        if one in _NAT64:
            inner.append(ipaddress.IPv4Address(int(one) & 0xFFFFFFFF))
        if any(wrapped is not None and not _is_global(wrapped) for wrapped in inner):
            return False
        if any(wrapped is not None for wrapped in inner):
            return True
    return _is_global(one)


def _is_global(one: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return one.is_global and not one.is_multicast and not one.is_reserved and not one.is_unspecified
