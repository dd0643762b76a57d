import Admin
import JSON
import PushCore
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
        if try request.flag("follow") {
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
