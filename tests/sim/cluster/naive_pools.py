"""One prefill and one decode instance with steps of one second, from the rules alone, moment by moment."""

from __future__ import annotations

__all__ = ["NaivePools"]


class NaivePools:
    """Events are (moment, rank, row): prefill steps end, then transfers, then decode steps, then arrivals.

    Whatever can begin begins after all of a moment. The decode side must never run short.
    """

    def __init__(self, rows, *, budget, n_prefill, n_decode, link, first_token, size):
        self.rows = rows  # of (arrival, prompt, output)
        self.budget, self.n_prefill, self.n_decode = budget, n_prefill, n_decode
        self.link, self.first_token, self.size = link, first_token, size
        self.recomputes = first_token == "decode_recompute"
        self.tokens = [[] for _ in rows]
        self.held = [0] * len(rows)
        self.events = [(row[0], 3, index) for index, row in enumerate(rows)]
        self.queue, self.ready, self.landed, self.batch, self.decoding = [], [], [], [], []

    def blocks(self, n):
        return -(-n // self.size)

    def expects(self, rank):
        return any(event[1] == rank for event in self.events)

    def run(self):
        """Token times of each row."""
        ends = (self.end_prefill, self.end_transfer, self.end_decode, lambda at, row: self.queue.append(row))
        while self.events:
            now = min(self.events)[0]
            for event in sorted(event for event in self.events if event[0] <= now + 1e-9):
                self.events.remove(event)
                ends[event[1]](event[0], event[2])
            self.begin_transfer(now)
            self.begin_prefill(now)
            self.begin_decode(now)
        return self.tokens

    def end_prefill(self, at, row):
        for job in self.batch:
            self.tokens[job] = [] if self.recomputes else [at]
            done = self.rows[job][2] == len(self.tokens[job])
            self.n_prefill += self.blocks(self.rows[job][1]) * done
            self.ready += [] if done else [job]
        self.batch = []

    def end_transfer(self, at, row):
        self.n_prefill += self.blocks(self.rows[row][1])
        if self.first_token == "transfer_end":
            self.tokens[row] = [at]
        self.landed.append(row)

    def end_decode(self, at, row):
        for job in list(self.decoding):
            self.tokens[job].append(at)
            if len(self.tokens[job]) == self.rows[job][2]:
                self.n_decode += self.held[job]
                self.decoding.remove(job)

    def begin_transfer(self, now):
        if self.ready and not self.expects(1) and self.blocks(self.rows[self.ready[0]][1]) <= self.n_decode:
            job = self.ready.pop(0)
            self.held[job] = self.blocks(self.rows[job][1])
            self.n_decode -= self.held[job]
            seconds = self.link.latency_s + self.rows[job][1] / self.link.tokens_per_s
            self.events.append((now + seconds, 1, job))

    def begin_prefill(self, now):
        if self.expects(0):
            return
        left = self.budget
        while self.queue:
            prompt = self.rows[self.queue[0]][1]
            if prompt > left or self.blocks(prompt) > self.n_prefill:
                break
            self.batch.append(self.queue.pop(0))
            left -= prompt
            self.n_prefill -= self.blocks(prompt)
        if self.batch:
            self.events.append((now + 1.0, 0, -1))

    def begin_decode(self, now):
        if self.expects(2) or not (self.decoding or self.landed):
            return
        self.decoding, self.landed = self.decoding + self.landed, []
        for job in self.decoding:
            wanted = self.blocks(self.rows[job][1] + len(self.tokens[job]))
            self.n_decode, self.held[job] = self.n_decode - (wanted - self.held[job]), wanted
        assert self.n_decode >= 0
        self.events.append((now + 1.0, 2, -1))
