import Admin
import JSON
import PushCore
import Reactor
import Storage

/// `/v1/notifications`: the delivery log.
struct NotificationRoutes {
    private let control: Control

    init(_ control: Control) { self.control = control }

    func respond(_ request: AdminRequest) throws(AdminFailure) -> AdminResponse {
        guard let log = control.shared.deliveries else {
            throw .notFound("the delivery log is off; set log.deliveries to all or discarded")
        }
        let page = try ListPage(request)
        let query = try query(request, page)
        if request.query["follow"] == "true" {
            return AdminResponse(stream: DeliveryStream(subscription: log.follow(), query: query))
        }
        do throws(StoreError) {
            var records = try log.find(query)
            let next = records.count > page.limit ? String(records[page.limit - 1].number) : nil
            records = Array(records.prefix(page.limit))
            return page.response(records, next: next, write: write)
        } catch {
            throw .unavailable
        }
    }

    private func query(_ request: AdminRequest, _ page: ListPage) throws(AdminFailure) -> DeliveryQuery {
        var query = DeliveryQuery(limit: page.limit + 1)
        query.apnsID = request.query["apnsID"]
        query.uniqueID = request.query["uniqueID"]
        query.topic = request.query["topic"]
        if let text = request.query["state"] {
            guard let state = DeliveryState(rawValue: text) else {
                let all = DeliveryState.allCases.map(\.rawValue).joined(separator: ", ")
                throw .badRequest("state is one of \(all), not '\(text)'")
            }
            query.state = state
        }
        if let text = page.after {
            guard let number = UInt64(text) else { throw .badRequest("after is the next of the page before") }
            query.after = number
        }
        if let text = request.query["token"] { query.registration = try registration(text) }
        return query
    }

    /// The number of the registration a full token belongs to; 0, which is none's, when there is none.
    private func registration(_ text: String) throws(AdminFailure) -> UInt64 {
        guard let token = DeviceToken(hex: text) else { return 0 }
        return try control.ask { $0.home.registrations[token]?.record.number ?? 0 }.max() ?? 0
    }
}

private func write(_ record: DeliveryRecord, _ writer: inout JSONWriter) {
    writer.field("apnsID", record.apnsID)
    writer.field("uniqueID", record.uniqueID)
    writer.field("tokenPrefix", record.tokenPrefix)
    writer.field("device", record.device)
    writer.field("topic", record.topic)
    writer.field("pushType", record.pushType)
    writer.field("priority", record.priority)
    writer.field("expiration", record.expiration.map { Int($0) })
    writer.field("collapseID", record.collapseID)
    writer.field("size", record.size)
    writer.field("state", record.state.rawValue)
    writer.field("cause", record.cause)
    writer.field("acceptedAt", timestamp(record.acceptedAt))
    writer.key("changes")
    writer.array { changes in
        for change in record.changes {
            changes.object { entry in
                entry.field("at", timestamp(change.at))
                entry.field("state", change.state.rawValue)
                entry.field("cause", change.cause)
            }
        }
    }
}

/// The delivery log as it happens: one server-sent event per change of a push.
private struct DeliveryStream: AdminStream {
    let subscription: DeliverySubscription
    let query: DeliveryQuery

    func next() -> [UInt8]? {
        guard let record = subscription.next(milliseconds: 1000) else { return [] }
        guard fits(record) else { return [] }
        return Array("data: ".utf8) + json { write(record, &$0) } + Array("\n\n".utf8)
    }

    func cancel() { subscription.cancel() }

    private func fits(_ record: DeliveryRecord) -> Bool {
        (query.apnsID.map { $0 == record.apnsID } ?? true) && (query.uniqueID.map { $0 == record.uniqueID } ?? true)
            && (query.registration.map { $0 == record.registration } ?? true)
            && (query.topic.map { $0 == record.topic } ?? true) && (query.state.map { $0 == record.state } ?? true)
    }
}

/// `/v1/queues/{token}`: what is held for a registration, oldest first.
struct QueueRoutes {
    private let control: Control

    init(_ control: Control) { self.control = control }

    func respond(_ request: AdminRequest, _ text: String) throws(AdminFailure) -> AdminResponse {
        guard let token = DeviceToken(hex: text) else { throw .notFound("no registration with this token") }
        let found = try control.ask { loop -> [Push]? in
            loop.home.registrations[token].map { $0.owner.queue.held(for: $0.record.number) }
        }
        guard let pushes = found.compactMap({ $0 }).first else { throw .notFound("no registration with this token") }
        let sorted = pushes.sorted { $0.number < $1.number }
        let showsPayload = request.query["payload"] == "true"
        let now = control.now
        return try ListPage(request).response(sorted, key: { pageKey($0.number) }) { push, writer in
            writer.field("id", String(push.number))
            writer.field("apnsID", String(decoding: push.apnsID, as: UTF8.self))
            writer.field("size", push.payload.count)
            writer.field("priority", Int(push.priority.rawValue))
            writer.field("expiration", Int(push.expires.seconds))
            let collapseID = push.collapseID.isEmpty ? nil : String(decoding: push.collapseID, as: UTF8.self)
            writer.field("collapseID", collapseID)
            writer.field("ageSeconds", (now - push.acceptedAt).fractionalSeconds)
            if showsPayload { writer.field("payload", base64Encoded(push.payload)) }
        }
    }
}

/// `/v1/status`.
struct StatusRoutes {
    private let control: Control

    init(_ control: Control) { self.control = control }

    var status: AdminResponse {
        let metrics = control.shared.metrics
        let now = control.now
        let rates = control.rates.current(at: Clock.monotonic())
        let oldest = control.oldestHeld
        let body = json { writer in
            writer.field("version", Version.text)
            writer.field("environment", control.shared.config.environment.rawValue)
            writer.field("startedAt", timestamp(control.startedAt))
            writer.field("draining", control.isDraining.value == 1)
            writer.field("sessions", metrics.sessions.value)
            writer.field("queued", metrics.held.value)
            writer.field("queuedOldestSeconds", oldest.map { (now - $0).fractionalSeconds })
            writer.field("acceptedPerSecond", rates.accepted)
            writer.field("deliveredPerSecond", rates.delivered)
            writer.field("deliverySecondsP50", metrics.deliverySeconds.quantile(0.5))
            writer.field("deliverySecondsP99", metrics.deliverySeconds.quantile(0.99))
            writer.field("storeLagSeconds", control.shared.store.statistics.lagSeconds)
            writer.field("certificateSecondsLeft", (control.serverCertificateNotAfter - now).fractionalSeconds)
        }
        return AdminResponse(status: 200, body: body)
    }
}

/// `/v1/test/...`, with `serve --test-hooks` only.
struct TestRoutes {
    private let control: Control

    init(_ control: Control) { self.control = control }

    func respond(_ request: AdminRequest, _ hook: String) throws(AdminFailure) -> AdminResponse {
        let body = try object(request)
        switch hook {
        case "clock":
            let text = try body.text("advance")
            guard let interval = Interval(setting: text) else {
                throw .badRequest("advance is a duration such as 90s or 31d")
            }
            // Nanoseconds of 64 bits end in 2262, and what is stored lies up to a year ahead.
            guard control.now + interval < Moment(seconds: 7_500_000_000) else {
                throw .badRequest("the clock ends in the year 2207")
            }
            control.shared.clock.advance(by: interval)
            // Every loop looks at its deadlines before the tester goes on.
            _ = try control.ask { $0.timeMoved() }
        case "store":
            let (hold, count) = (try body.optionalBool("hold"), try body.optionalCount("fail"))
            if let hold { control.shared.store.hold(hold) }
            if let count { control.shared.store.fail(next: count) }
        case "answer":
            let reason = try body.text("reason")
            guard let rejection = Rejection(rawValue: reason) else { throw .badRequest("no reason '\(reason)'") }
            if let status = body["status"]?.int, status != rejection.status {
                throw .badRequest("\(reason) goes with status \(rejection.status)")
            }
            control.shared.answers.plan(rejection, times: try body.optionalCount("times") ?? 1)
        default: throw .notFound("the hooks are clock, store and answer")
        }
        return AdminResponse(status: 201, body: Array("{}".utf8))
    }
}
