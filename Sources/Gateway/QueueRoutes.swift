import Admin
import JSON
import PushCore

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
        let page = try ListPage(request)
        let (items, next) = page.cut(sorted) { pageKey($0.number) }
        let payloads = try request.flag("payload") ? try readPayloads(of: items) : nil
        let now = control.now
        return page.response(items, next: next) { push, writer in
            writer.field("id", String(push.number))
            writer.field("apnsID", push.apnsID.description)
            writer.field("size", push.content.payloadCount)
            writer.field("priority", Int(push.priority.rawValue))
            writer.field("expiration", Int(push.expires.seconds))
            let collapseID = push.content.hasCollapseID ? String(decoding: push.content.collapseID, as: UTF8.self) : nil
            writer.field("collapseID", collapseID)
            writer.field("ageSeconds", (now - push.acceptedAt).fractionalSeconds)
            if let payloads {
                let payload = push.content.hasPayload ? Array(push.content.payload) : payloads[push.number]
                writer.field("payload", payload.map { base64Encoded($0) })
            }
        }
    }

    /// The payloads that are in the store alone, by number; not of what has ended meanwhile.
    private func readPayloads(of pushes: [Push]) throws(AdminFailure) -> [UInt64: [UInt8]] {
        let numbers = pushes.filter { !$0.content.hasPayload }.map(\.number)
        guard !numbers.isEmpty else { return [:] }
        let payloads = zip(numbers, try control.payloads(numbers))
        return Dictionary(uniqueKeysWithValues: payloads.compactMap { number, payload in payload.map { (number, $0) } })
    }
}
