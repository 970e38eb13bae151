"""nats-py used for real against one server. usage: client.py PART URL"""

import asyncio
import sys

import nats
from nats.errors import NoRespondersError
from nats.js.api import AckPolicy, ConsumerConfig, KeyValueConfig, StreamConfig
from nats.js.errors import KeyNotFoundError, KeyWrongLastSequenceError, NotFoundError

BOUND = 10


async def expect_raises(error, work):
    try:
        await work
    except error:
        return
    raise AssertionError(f"{error.__name__} was expected")


async def core(client, url):
    other = await nats.connect(url)
    shares = {"one": 0, "other": 0}

    async def job(name):
        async def handle(message):
            shares[name] += 1
            await message.respond(message.data.upper())

        return handle

    await other.subscribe("jobs", queue="w", cb=await job("one"))
    await other.subscribe("jobs", queue="w", cb=await job("other"))
    await other.flush()
    for n in range(60):
        answer = await client.request("jobs", f"job {n}".encode(), timeout=BOUND)
        assert answer.data == f"JOB {n}".encode(), answer
    assert sum(shares.values()) == 60 and min(shares.values()) > 5, shares
    heard = await client.subscribe("with.headers")
    await client.publish("with.headers", b"x", headers={"Key": "val"})
    message = await heard.next_msg(timeout=BOUND)
    assert message.headers == {"Key": "val"}, message.headers
    await expect_raises(NoRespondersError, client.request("nobody", b"", timeout=BOUND))
    await other.drain()


async def pull(client, _url):
    js = client.jetstream()
    await js.add_stream(StreamConfig(name="S", subjects=["s.>"]))
    for n in range(1, 101):
        ack = await js.publish(f"s.{n % 2}", str(n).encode())
        assert (ack.stream, ack.seq) == ("S", n), ack
    consumer = await js.pull_subscribe("s.0", "c", stream="S")
    seen = []
    while len(seen) < 50:
        for message in await consumer.fetch(20, timeout=BOUND):
            await message.ack_sync()
            seen.append(int(message.data))
    assert seen == list(range(2, 101, 2)), seen
    info = await js.consumer_info("S", "c")
    assert (info.num_pending, info.num_ack_pending) == (0, 0), info
    await expect_raises(nats.errors.TimeoutError, consumer.fetch(1, timeout=0.2))
    message = await js.get_msg("S", 7)
    assert message.data == b"7", message
    await js.delete_msg("S", 7)
    await expect_raises(NotFoundError, js.get_msg("S", 7))
    await js.purge_stream("S", subject="s.0")
    assert (await js.stream_info("S")).state.messages == 49
    assert await js.delete_stream("S")


async def push(client, _url):
    js = client.jetstream()
    await js.add_stream(StreamConfig(name="S", subjects=["s.>"]))
    durable = await js.subscribe("s.>", durable="d", manual_ack=True)
    await js.publish("s.1", b"again", headers={"Nats-Msg-Id": "1"})
    assert (await js.publish("s.1", b"again", headers={"Nats-Msg-Id": "1"})).duplicate
    first = await durable.next_msg(timeout=BOUND)
    assert first.metadata.num_delivered == 1, first.metadata
    await first.nak()
    second = await durable.next_msg(timeout=BOUND)
    assert second.metadata.num_delivered == 2, second.metadata
    await second.ack_sync()
    for n in range(500):
        await js.publish("s.2", str(n).encode())
    ordered = await js.subscribe("s.2", ordered_consumer=True)
    for n in range(500):
        message = await ordered.next_msg(timeout=BOUND)
        assert message.data == str(n).encode(), (n, message)
    config = ConsumerConfig(ack_policy=AckPolicy.NONE, headers_only=True)
    heads = await js.subscribe("s.1", config=config)
    message = await heads.next_msg(timeout=BOUND)
    assert message.data == b"" and message.headers["Nats-Msg-Size"] == "5", message


async def kv(client, _url):
    js = client.jetstream()
    bucket = await js.create_key_value(KeyValueConfig(bucket="prices", history=5))
    assert await bucket.put("milk", b"1.09") == 1
    assert (await bucket.get("milk")).value == b"1.09"
    assert await bucket.update("milk", b"1.19", last=1) == 2
    await expect_raises(KeyWrongLastSequenceError, bucket.update("milk", b"1.29", last=1))
    await expect_raises(KeyWrongLastSequenceError, bucket.create("milk", b"0"))
    await bucket.create("bread", b"2.00")
    watcher = await bucket.watchall()
    initial = []
    while (entry := await watcher.updates(timeout=BOUND)) is not None:
        initial.append(entry.key)
    assert sorted(initial) == ["bread", "milk"], initial
    await bucket.delete("milk")
    entry = await watcher.updates(timeout=BOUND)
    assert (entry.key, entry.operation) == ("milk", "DEL"), entry
    await watcher.stop()
    await expect_raises(KeyNotFoundError, bucket.get("milk"))
    history = [(entry.revision, entry.operation) for entry in await bucket.history("milk")]
    assert [revision for revision, _ in history] == [1, 2, 4], history
    assert await bucket.keys() == ["bread"]
    await bucket.purge("milk")
    assert len(await bucket.history("milk")) == 1
    assert (await bucket.status()).values == 2
    assert await js.delete_key_value("prices")


async def objects(client, _url):
    js = client.jetstream()
    bucket = await js.create_object_store("images")
    picture = bytes(n * 31 % 251 for n in range(3 * 1024 * 1024))
    info = await bucket.put("picture", picture)
    assert info.size == len(picture), info
    await bucket.put("small", b"x")
    assert (await bucket.get("picture")).data == picture
    assert sorted(entry.name for entry in await bucket.list()) == ["picture", "small"]
    await bucket.delete("picture")
    assert [entry.name for entry in await bucket.list(ignore_deletes=True)] == ["small"]
    assert await js.delete_object_store("images")


async def main():
    part, url = globals()[sys.argv[1]], sys.argv[2]
    client = await nats.connect(url)
    await part(client, url)
    await client.close()


asyncio.run(main())
