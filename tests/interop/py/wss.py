"""A WebSocket client over TLS: argv is the port and the file of the CA; says what it is told."""

import os
import socket
import ssl
import sys

port, ca = int(sys.argv[1]), sys.argv[2]
context = ssl.create_default_context(cafile=ca)
raw = socket.create_connection(("127.0.0.1", port), timeout=10)
line = context.wrap_socket(raw, server_hostname="localhost")
line.sendall(
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
stream = line.makefile("rb")
print(stream.readline().decode().strip())
while stream.readline().strip():
    pass


def frame():
    _, size = stream.read(2)
    if size == 126:
        size = int.from_bytes(stream.read(2), "big")
    return stream.read(size).decode()


def say(text):
    mask = os.urandom(4)
    body = bytes(byte ^ mask[at % 4] for at, byte in enumerate(text.encode()))
    assert len(body) < 126
    line.sendall(bytes([0x82, 0x80 | len(body)]) + mask + body)


info = frame()
print(info.split(" ")[0], '"tls_required":true' in info, line.version())
say('CONNECT {"verbose":false}\r\n')
say("SUB a 1\r\nPUB a 2\r\nhi\r\nPING\r\n")
told = ""
while "PONG" not in told:
    told += frame()
print(told.split())
