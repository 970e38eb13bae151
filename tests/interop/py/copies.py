"""Buckets and object stores of another domain, as nats-py sees them. usage: copies.py LEAF_URL HUB_URL"""

import asyncio
import json
import sys

import nats
from nats.js.errors import KeyNotFoundError, ObjectNotFoundError

BOUND = 30


async def until(what, work):
    for _ in range(BOUND * 20):
        if (value := await work()) is not None:
            return value
        await asyncio.sleep(0.05)
    raise AssertionError(f"waited in vain for {what}")


async def api(client, subject, body):
    answer = json.loads((await client.request(f"$JS.API.{subject}", json.dumps(body).encode())).data)
    assert "error" not in answer, (subject, answer)
    return answer


def bucket_config(name, more):
    config = {
        "name": f"KV_{name}",
        "max_msgs_per_subject": 5,
        "allow_rollup_hdrs": True,
        "deny_delete": True,
        "allow_direct": True,
        "allow_msg_ttl": True,
        "discard": "new",
        **more,
    }
    config.setdefault("subjects", [f"$KV.{name}.>"])
    return {key: value for key, value in config.items() if value is not None}


def of_shop(name, **more):
    return {"name": name, "external": {"api": "$JS.shop.API"}, **more}


async def gone(bucket, key):
    try:
        await bucket.get(key)
    except KeyNotFoundError:
        return True


async def value_of(bucket, key, value):
    try:
        entry = await bucket.get(key)
    except KeyNotFoundError:
        return None
    return entry if entry.value == value else None


async def buckets(leaf, hub):
    near, far = leaf.jetstream(), hub.jetstream()
    await api(leaf, "STREAM.CREATE.KV_prices", bucket_config("prices", {}))
    prices = await near.key_value("prices")
    await prices.put("milk", b"1.09")
    await prices.put("bread", b"2.00")
    mirror = {"subjects": None, "mirror": of_shop("KV_prices"), "mirror_direct": True}
    await api(hub, "STREAM.CREATE.KV_copy", bucket_config("copy", mirror))
    renames = [{"src": "$KV.prices.>", "dest": "$KV.all.>"}]
    source = {"sources": [of_shop("KV_prices", subject_transforms=renames)]}
    await api(hub, "STREAM.CREATE.KV_all", bucket_config("all", source))
    all_prices = await far.key_value("all")
    await until("milk", lambda: value_of(all_prices, "milk", b"1.09"))
    await prices.put("milk", b"1.19")
    await until("a new price", lambda: value_of(all_prices, "milk", b"1.19"))
    watcher = await all_prices.watchall()
    seen = []
    while (entry := await watcher.updates(timeout=BOUND)) is not None:
        seen.append((entry.key, entry.value))
    assert sorted(seen) == [("bread", b"2.00"), ("milk", b"1.19")], seen
    await prices.delete("milk")
    entry = await watcher.updates(timeout=BOUND)
    assert (entry.key, entry.operation) == ("milk", "DEL"), entry
    await until("the deletion", lambda: gone(all_prices, "milk"))
    await prices.purge("bread")
    await until("the purge", lambda: gone(all_prices, "bread"))
    await all_prices.put("own", b"1")
    assert await gone(prices, "own")
    # The mirror keeps the origin's subjects and sequences, and answers direct reads for them.
    await until("the mirror", lambda: same_state(leaf, hub, "KV_prices", "KV_copy"))
    for seq in (1, 3):
        got = await hub.request("$JS.API.DIRECT.GET.KV_copy", json.dumps({"seq": seq}).encode())
        assert got.headers["Nats-Sequence"] == str(seq), got.headers
    got = await hub.request("$JS.API.DIRECT.GET.KV_copy.$KV.prices.bread", b"")
    assert got.headers["KV-Operation"] == "PURGE", got.headers
    return [entry.key for entry in await all_prices.history("own")]


async def same_state(leaf, hub, origin, mirror):
    last = [
        (await api(client, f"STREAM.INFO.{name}", {}))["state"]["last_seq"]
        for client, name in ((leaf, origin), (hub, mirror))
    ]
    return True if last[0] == last[1] else None


async def objects(leaf, hub):
    near, far = leaf.jetstream(), hub.jetstream()
    images = await near.create_object_store("images")
    picture = bytes(n * 31 % 251 for n in range(700_000))
    await images.put("picture", picture)
    # A mirror has no subjects by which nats-py would find it.
    parts = [{"src": f"$O.images.{part}.>", "dest": f"$O.copy.{part}.>"} for part in "CM"]
    config = {
        "name": "OBJ_copy",
        "subjects": ["$O.copy.C.>", "$O.copy.M.>"],
        "sources": [of_shop("OBJ_images", subject_transforms=parts)],
        "allow_rollup_hdrs": True,
        "allow_direct": True,
        "discard": "new",
    }
    await api(hub, "STREAM.CREATE.OBJ_copy", config)
    await until("the object", lambda: same_state(leaf, hub, "OBJ_images", "OBJ_copy"))
    copy = await far.object_store("copy")
    assert (await copy.get("picture")).data == picture
    await images.put("small", b"x")
    await until("the second", lambda: same_state(leaf, hub, "OBJ_images", "OBJ_copy"))
    assert sorted(entry.name for entry in await copy.list()) == ["picture", "small"]
    await images.delete("picture")

    async def is_deleted():
        try:
            await copy.get("picture")
        except ObjectNotFoundError:
            return True

    await until("the deletion", is_deleted)


async def main():
    leaf, hub = [await nats.connect(url) for url in sys.argv[1:3]]

    async def linked():
        try:
            return await hub.request("$JS.shop.API.INFO", b"")
        except (nats.errors.NoRespondersError, nats.errors.TimeoutError):
            return None

    await until("the link", linked)
    await buckets(leaf, hub)
    await objects(leaf, hub)
    await leaf.close()
    await hub.close()


asyncio.run(main())
