"""nats-py over TLS. usage: tls.py URL CA CERT KEY FIRST"""

import asyncio
import ssl
import sys

import nats

BOUND = 10


async def main(url, ca, cert, key, first):
    context = ssl.create_default_context(cafile=ca)
    context.load_cert_chain(cert, key)
    client = await nats.connect(
        url, tls=context, tls_hostname="localhost", tls_handshake_first=first == "first"
    )

    async def answer(message):
        await message.respond(message.data.upper())

    await client.subscribe("ask", cb=answer)
    reply = await client.request("ask", b"x" * 100_000, timeout=BOUND)
    assert reply.data == b"X" * 100_000
    await client.drain()


asyncio.run(main(*sys.argv[1:]))
