"""A till on nats-py: publishes its next order once the last one is acked, again and again until it is.

usage: till.py URL TILL FIRST_NUMBER ORDERS STOP_FILE   (an empty STOP_FILE: stop after ORDERS)
"""

import asyncio
import os
import sys

import nats


async def silent(_error):
    """Broken connections are part of the story."""


async def main():
    url, till, number, orders, stop = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
    client = await nats.connect(
        url,
        allow_reconnect=True,
        max_reconnect_attempts=-1,
        reconnect_time_wait=0.05,
        error_cb=silent,
    )
    stream = client.jetstream()
    sent = 0
    while True:
        try:
            await stream.publish(
                f"orders.till-{till}",
                f"{till} {number}".encode(),
                timeout=2,
                headers={"Nats-Msg-Id": f"{till}-{number}"},
            )
        except (nats.errors.Error, asyncio.TimeoutError, OSError):
            await asyncio.sleep(0)
            continue
        sent += 1
        if sent >= orders and (not stop or os.path.exists(stop)):
            break
        number += 1
    print(f"acked {number}", flush=True)
    await client.close()


asyncio.run(main())
