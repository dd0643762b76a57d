import PushCore
import Reactor
import Storage

// The gateway's leave, step by step (docs/operations.md, "Drain").
extension Control {
    /// Drains without an exit, on a thread of its own; a drain that has begun goes on.
    func beginDrain() throws(AdminFailure) {
        guard isDraining.value == 0 else { return }
        let number = nextDrain()
        isDraining.set(1)
        do throws(SystemError) {
            _ = try Worker(name: "drain") {
                self.drain(number)
                // Before an exit the store writes all that waits anyway.
                guard self.isCurrent(number) else { return }
                _ = self.shared.store.flush(milliseconds: Int(Limits.drainFlush.milliseconds))
            }
        } catch {
            isDraining.set(0)
            throw .unavailable
        }
    }

    /// The drain before an exit: nothing calls it off.
    func drain() {
        isLeaving.set(1)
        isDraining.set(1)
        drain(nextDrain())
    }

    func endDrain() throws(AdminFailure) {
        guard isLeaving.value == 0 else { throw .forbidden("the gateway is leaving, and nothing calls that off") }
        _ = nextDrain()
        isDraining.set(0)
        for mailbox in shared.mailboxes { mailbox.post(.perform { $0.endDrain() }) }
    }

    /// Says goodbye to everyone. Returns when all is answered, time is up, or it was called off.
    private func drain(_ number: Int) {
        shared.log.info("drain begins")
        pause(config.drainDelay, number)
        let end = after(config.drainTimeout)
        let steps: [() -> Void] = [
            { self.tell(.refuse) },
            { self.wait(until: min(end, after(Limits.drainQuiet)), number) { self.left?.streams == 0 } },
            { self.tell(.notice) },
            { self.pause(Limits.drainNotice, number) },
            { self.tell(.farewell) },
            { self.dismissDevices(until: end, number) },
            { self.tell(.close) },
            // What was answered last must leave the sockets.
            { self.wait(until: after(Limits.drainLastBytes)) { self.providerConnections == 0 } },
        ]
        for step in steps where isCurrent(number) { step() }
        guard isCurrent(number) else { return shared.log.info("drain called off") }
        shared.log.info("drain ends", LogField("sessions", shared.metrics.sessions.value))
    }

    /// Devices leave at a set rate, or faster if the time would not do; providers' answers are waited for meanwhile.
    private func dismissDevices(until end: Int64, _ number: Int) {
        let ticks = max(1, (end - Clock.monotonic()) / Limits.drainTick.nanoseconds)
        // Those of a loop that does not answer are told all at once, at the end.
        let most = (try? ask { $0.farewells.count })?.max() ?? 0
        let count = max(Limits.farewellsPerTick, most / Int(ticks) + 1)
        wait(until: end, number) {
            self.tell(.dismiss(count))
            return self.left.map { $0.streams == 0 && $0.devices == 0 } ?? false
        }
    }

    private func nextDrain() -> Int {
        drainNumber.withLock { number -> Int in
            number += 1
            return number
        }
    }

    private func isCurrent(_ number: Int) -> Bool { drainNumber.withLock { $0 == number } }

    /// What the drain waits for; nil if a loop does not answer.
    private var left: (streams: Int, devices: Int)? {
        // A loop that is stuck must not hold up the drain: it is asked again.
        let patience = Int(Limits.drainAnswer.milliseconds)
        guard let left = try? ask(milliseconds: patience, { ($0.openStreams, $0.farewells.count) }) else { return nil }
        return left.reduce((0, 0)) { ($0.0 + $1.0, $0.1 + $1.1) }
    }

    private var providerConnections: Int { shared.metrics.providerConnections.value }

    private func tell(_ step: DrainStep) {
        for mailbox in shared.mailboxes { mailbox.post(.drain(step)) }
    }

    private func pause(_ interval: Interval, _ number: Int) {
        wait(until: after(interval), number) { false }
    }

    /// Waits, unless the drain was called off or must hurry.
    private func wait(until end: Int64, _ number: Int, for done: () -> Bool) {
        wait(until: end) { isHurried.value == 1 || !isCurrent(number) || done() }
    }

    private func wait(until end: Int64, for done: () -> Bool) {
        while !done(), Clock.monotonic() < end {
            let rest = min(Limits.drainTick.nanoseconds, end - Clock.monotonic())
            idle(milliseconds: Int(max(rest, 0) / 1_000_000) + 1)
        }
    }
}

/// That much later than now, on the monotonic clock.
private func after(_ interval: Interval) -> Int64 { Clock.monotonic() + interval.nanoseconds }
