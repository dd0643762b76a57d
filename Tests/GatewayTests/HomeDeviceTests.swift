import PushCore
import Reactor
import Storage
import TestSupport
import Testing
import Wire

@testable import Gateway

/// Devices, their sessions and registrations at home.
@Suite struct HomeDeviceTests {
    // MARK: Sessions

    @Test func `a newer session takes over and the older is ended`() throws {
        var bench = try HomeBench.live()
        try bench.offer()
        _ = bench.effects()
        let older = try #require(bench.link)
        try bench.connect()
        #expect(bench.effects() == ["end 1: taken over", "notify 1 over 2"])
        bench.home.closeSession(bench.device, older, at: bench.now)
        #expect(bench.device.session === bench.link)
        #expect(bench.metrics.sessions.value == 1)
    }

    @Test func `a device that is not enrolled gets no session`() {
        let bench = HomeBench()
        let link = SessionLink(connection: 1, connectedAt: bench.now)
        #expect(throws: Home.Refusal.notEnrolled) {
            try bench.home.openSession(
                DeviceID(99),
                link,
                isAwake: true,
                nonce: ConnectNonce(made: bench.now, random: 1)
            )
        }
    }

    @Test func `a Connect that was seen is refused and disturbs nothing`() throws {
        var bench = HomeBench()
        let nonce = ConnectNonce(made: bench.now, random: 1)
        try bench.connect(nonce: nonce)
        let session = bench.device.session
        let link = SessionLink(connection: 2, connectedAt: bench.now)
        #expect(throws: Home.Refusal.replayed) {
            try bench.home.openSession(HomeBench.deviceID, link, isAwake: true, nonce: nonce)
        }
        #expect(bench.device.session === session && bench.effects() == [])
        bench.now = bench.now + .seconds(601)
        try bench.connect(nonce: nonce)
    }

    @Test func `a device may connect as often as it likes`() throws {
        var bench = HomeBench()
        for _ in 0..<3 * Limits.rememberedNonces {
            bench.now = bench.now + .milliseconds(1)
            try bench.connect()
        }
    }

    @Test func `a Filter tells the device that nothing waits`() throws {
        var bench = HomeBench()
        try bench.connect()
        #expect(bench.home.filter(bench.device, [HomeBench.topic.hash: .enabled], at: bench.now))
        bench.disconnect()
        try bench.offer()
        let link = SessionLink(connection: 9, connectedAt: bench.now)
        _ = try bench.home.openSession(
            HomeBench.deviceID,
            link,
            isAwake: true,
            nonce: ConnectNonce(made: bench.now, random: 9)
        )
        #expect(!bench.home.filter(bench.device, [HomeBench.topic.hash: .enabled], at: bench.now))
        #expect(bench.effects() == ["notify 1 over 9"])
    }

    @Test func `an unresponsive session is ended and gets nothing more`() throws {
        var bench = try HomeBench.live { $0.deliveryWindow = 1 }
        try bench.offer()
        try bench.offer()
        for _ in 0..<3 { bench.pass(.seconds(60)) }
        _ = bench.effects()
        bench.pass(.seconds(60))
        #expect(bench.effects() == ["end 1: no acknowledgement"])
        #expect(bench.metrics.redeliveries.value == 3)
    }

    @Test func `room is used up by what is framed`() throws {
        var bench = try HomeBench.live()
        try bench.offer()
        #expect(bench.link?.room == Limits.unsentBytes - Limits.frameOverhead - 2)
    }

    // MARK: Registrations

    @Test func `a registration is made once and takes up the session's Filter`() throws {
        var bench = try HomeBench.live()
        let made = try #require(bench.home.register(bench.device, HomeBench.voip, .enabled, at: bench.now))
        #expect(made.record.token.bucket == HomeBench.bucket && made.record.token.count == 32)
        #expect(bench.home.registration(bench.device, HomeBench.voip) === made)
        try bench.offer(to: made.record.token, topic: HomeBench.voip)
        #expect(bench.effects() == ["notify 1 over 1"])
        #expect(bench.changes() == ["save 101"])
    }

    @Test func `a device has a bounded number of registrations`() {
        let bench = HomeBench()
        for number in 2...UInt64(Limits.registrationsPerDevice) {
            let token = DeviceToken([7, UInt8(number >> 8), UInt8(number & 255)]) ?? HomeBench.token
            bench.home.restore(HomeBench.record(number, token: token), topic: HomeBench.topic)
        }
        #expect(bench.home.register(bench.device, HomeBench.voip, .enabled, at: bench.now) == nil)
        bench.home.revoke(bench.registration, at: bench.now)
        #expect(bench.home.register(bench.device, HomeBench.voip, .enabled, at: bench.now) != nil)
    }

    @Test func `a registration made for a connected device is live at once`() throws {
        var bench = try HomeBench.live()
        bench.home.adopt(HomeBench.record(2, token: Sample.token(2), topic: HomeBench.voip), topic: HomeBench.voip)
        try bench.offer(to: Sample.token(2), topic: HomeBench.voip)
        #expect(bench.effects() == ["notify 1 over 1"])
    }

    @Test func `a registration without a device takes pushes and lives until it is revoked`() throws {
        var bench = HomeBench()
        bench.home.adopt(HomeBench.record(2, token: Sample.token(2), device: nil), topic: HomeBench.topic)
        try bench.offer(to: Sample.token(2))
        bench.commit()
        #expect(bench.answers() == ["answer 1 200"])
        #expect(bench.home.oldestHeld == bench.now)
        let orphan = try #require(bench.home.registrations[Sample.token(2)])
        bench.home.revoke(orphan, at: bench.now)
        bench.sweep()
        #expect(bench.home.holders.all.isEmpty && bench.metrics.held.value == 0)
    }

    @Test func `revoking discards, tells the session and is written`() throws {
        var bench = try HomeBench.live()
        try bench.offer()
        _ = (bench.effects(), bench.events())
        bench.home.revoke(bench.registration, at: bench.now)
        #expect(bench.effects() == ["answer 1 200", "gone 1 over 1"])
        #expect(bench.changes() == ["save 1"])
        #expect(bench.events() == ["discarded-unregistered-from-storage 1"])
        bench.acknowledge(1)
        bench.home.revoke(bench.registration, at: bench.now)
        #expect(bench.effects() == [] && bench.changes() == [])
    }

    @Test func `revoking one topic lets the next of another go`() throws {
        var bench = try HomeBench.live { $0.deliveryWindow = 1 }
        bench.home.adopt(HomeBench.record(2, token: Sample.token(2), topic: HomeBench.voip), topic: HomeBench.voip)
        try bench.offer()
        try bench.offer(to: Sample.token(2), topic: HomeBench.voip)
        bench.home.revoke(bench.registration, at: bench.now)
        #expect(bench.effects().last == "notify 2 over 1")
    }

    @Test func `status 2 revokes the registration`() throws {
        var bench = try HomeBench.live()
        try bench.offer()
        bench.acknowledge(1, status: 2)
        #expect(bench.registration.record.state == .unregistered)
        #expect(bench.events().last == "discarded-undeliverable 1")
        try bench.offer()
        #expect(bench.answers().last == "answer 2 410 Unregistered 1700000000")
    }

    @Test func `a revoked topic gets a new token with the next request`() throws {
        let bench = HomeBench()
        bench.home.revoke(bench.registration, at: bench.now)
        #expect(bench.home.registration(bench.device, HomeBench.topic) == nil)
        let made = try #require(bench.home.register(bench.device, HomeBench.topic, .unlisted, at: bench.now))
        #expect(made.record.token != HomeBench.token)
    }

    // MARK: Removing a device

    @Test func `removing a device ends its session and its tokens`() throws {
        var bench = try HomeBench.live()
        #expect(bench.home.remove(HomeBench.deviceID, at: bench.now))
        #expect(bench.effects() == ["gone 1 over 1", "end 1: device removed"])
        #expect(bench.changes() == ["save 1", "save device 1"])
        #expect(throws: Home.Refusal.notEnrolled) { try bench.connect() }
        try bench.offer()
        #expect(bench.answers() == ["answer 1 410 Unregistered 1700000000"])
        #expect(!bench.home.remove(HomeBench.deviceID, at: bench.now))
    }

    @Test func `a device that is enrolled again after its removal starts anew`() throws {
        var bench = HomeBench()
        _ = bench.home.remove(HomeBench.deviceID, at: bench.now)
        bench.home.enroll(Sample.device(HomeBench.deviceID.value))
        try bench.connect()
        bench.now = bench.now + .days(366)
        bench.sweep()
        #expect(bench.home.registrations.isEmpty)
    }

    @Test func `a known device keeps its base token with a new certificate`() throws {
        let bench = HomeBench()
        bench.home.enroll(Sample.device(HomeBench.deviceID.value, baseToken: Sample.token(3)))
        #expect(bench.device.record?.baseToken == Sample.token(0xff))
        #expect(bench.home.devices[HomeBench.deviceID] === bench.device)
    }

    // MARK: Restart and sweep

    @Test func `what the store kept is sent in order after a restart`() throws {
        var bench = HomeBench()
        for number in [UInt64(5), 6, 9] { bench.home.restore(Sample.push(number), for: bench.registration) }
        #expect(bench.metrics.held.value == 3)
        try bench.connect()
        #expect(bench.effects() == ["notify 5 over 1", "notify 6 over 1", "notify 9 over 1"])
        bench.acknowledge(5)
        #expect(bench.changes() == ["discard 5"])
        #expect(bench.events() == ["delivered-from-storage 5"])
    }

    @Test func `what the store kept twice of a collapse id is kept once`() {
        let bench = HomeBench()
        for number in [UInt64(5), 6] {
            bench.home.restore(Sample.push(number, collapseID: "score"), for: bench.registration)
        }
        #expect(bench.changes() == ["discard 5"])
        #expect(bench.metrics.held.value == 1)
    }

    @Test func `what the store kept for a dead token is discarded`() {
        let bench = HomeBench()
        bench.home.revoke(bench.registration, at: bench.now)
        _ = bench.changes()
        bench.home.restore(Sample.push(5), for: bench.registration)
        #expect(bench.changes() == ["discard 5"])
        #expect(bench.metrics.held.value == 0)
    }

    @Test func `a sweep discards what expired`() throws {
        var bench = HomeBench()
        try bench.offer([.expiration: "1700000060"])
        bench.commit()
        bench.sweep(at: bench.now + .seconds(60))
        #expect(bench.changes() == ["discard 1"])
        #expect(bench.metrics.held.value == 0)
    }

    @Test func `a sweep of many takes some turns and misses none`() throws {
        var bench = HomeBench()
        let count = UInt64(Limits.sweptPerTurn)
        for number in 1...count {
            let token = Sample.token(7, bucket: UInt16(number))
            bench.home.adopt(HomeBench.record(100 + number, token: token, device: nil), topic: HomeBench.topic)
            try bench.offer(to: token, [.expiration: "1700000060"])
        }
        bench.commit()
        bench.now = bench.now + .seconds(60)
        bench.home.beginSweep(at: bench.now)
        bench.home.sweepPart(at: bench.now)
        #expect(bench.home.holders.isSweeping && bench.metrics.held.value > 0)
        // One that begins meanwhile does not start over.
        bench.sweep()
        #expect(bench.metrics.held.value == 0 && bench.home.holders.all.isEmpty)
        #expect(bench.changes().count == Int(count))
    }

    @Test func `what could not be written is said again as it is by then`() throws {
        let bench = HomeBench()
        let (device, old) = (try #require(bench.device.record), bench.registration.record)
        bench.home.revoke(bench.registration, at: bench.now)
        let made = try #require(bench.home.register(bench.device, HomeBench.topic, .unlisted, at: bench.now))
        #expect(!made.isDurable)
        bench.home.written([.save(made.record)])
        #expect(made.isDurable)
        let forgotten = made.record
        bench.home.takeBack(made, at: bench.now)
        #expect(bench.home.remove(device.id, at: bench.now))
        #expect(bench.home.current(.save(forgotten)).words == "forget \(forgotten.number)")
        guard case .save(let record) = bench.home.current(.save(old)),
            case .saveDevice(let removed) = bench.home.current(.saveDevice(device))
        else { return _ = Issue.record("another change") }
        #expect(record.state == .unregistered && removed.removedAt != nil)
    }

    @Test func `a dead token is remembered for a year`() {
        let bench = HomeBench()
        bench.home.revoke(bench.registration, at: bench.now)
        _ = bench.changes()
        bench.sweep(at: bench.now + .days(365))
        #expect(bench.changes() == [])
        bench.sweep(at: bench.now + .days(366))
        #expect(bench.changes() == ["forget 1"])
        #expect(bench.home.registrations.isEmpty)
    }

    @Test func `dead tokens are forgotten by their age and past a number`() {
        var ended = EndedRegistrations()
        let bench = HomeBench()
        for (number, days) in [(UInt64(1), Int64(3)), (2, 1), (3, 2)] {
            let state = RegistrationState(HomeBench.record(number), topic: nil, owner: bench.device)
            state.record.revokedAt = Sample.now + .days(days)
            ended.add(state)
        }
        #expect(ended.takeOldest(at: Sample.now + .days(3), limit: 1)?.record.number == 2)
        #expect(ended.takeOldest(at: Sample.now + .days(3), limit: 1)?.record.number == 3)
        #expect(ended.takeOldest(at: Sample.now + .days(3), limit: 1) == nil)
        #expect(ended.takeOldest(at: Sample.now + .days(369), limit: 1)?.record.number == 1)
        #expect(ended.takeOldest(at: Sample.now + .days(369), limit: 1) == nil)
    }
}
