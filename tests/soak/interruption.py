"""Ctrl-C in the middle of a call."""

import os
import signal
import threading
import time

__all__ = ["SOON", "interrupted"]

SOON = 2.0  # seconds of the processor, so that other work on the machine does not count


def interrupted(call, after, *, within=SOON):
    """Whether Ctrl-C has ended a call, ``after`` seconds after it began; it does not reach what comes after the call.

    Raises
    ------
    AssertionError
        If the call went on for longer than ``within`` seconds of the processor, or returned as if there had been no Ctrl-C.
    """
    is_running, sent, seen = True, [], []

    def send():
        sent.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    def press(*_):
        if is_running:
            seen.append(time.process_time())
            raise KeyboardInterrupt

    before, timer = signal.signal(signal.SIGINT, press), threading.Timer(after, send)
    try:
        timer.start()
        call()
        is_running = False
        assert not seen, "Ctrl-C was swallowed"
        return False
    except KeyboardInterrupt:
        is_running = False
        late = time.process_time() - sent[0]
        assert late < within, f"the call ended {late:.1f} seconds of the processor after Ctrl-C"
        return True
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, before)
