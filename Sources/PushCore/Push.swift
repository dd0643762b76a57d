/// One notification that was accepted: every field already valid. A value with one allocation, that of its content, so
/// that a push which is delivered at once costs no more than that.
package struct Push: Sendable {
    /// Rises with acceptance over the whole instance; the store's key and the base of the id on the device wire. No two
    /// pushes have the same.
    package let number: UInt64
    /// The number of the registration it is for.
    package let registration: UInt64
    /// The `apns-id` exactly as answered.
    package let apnsID: UUIDText
    /// Shown as lowercase hexadecimal in `apns-unique-id`.
    package let uniqueID: UniqueID
    /// How soon it must go out.
    package let priority: Priority
    /// nil when the provider did not say.
    package let type: PushType?
    /// When it must no longer be sent. At or before `acceptedAt` it is tried once and never stored.
    package let expires: Moment
    /// When its home took it.
    package let acceptedAt: Moment
    /// Its payload and its collapse id.
    package fileprivate(set) var content: PushContent

    package init(
        number: UInt64,
        registration: UInt64,
        apnsID: UUIDText,
        uniqueID: UniqueID,
        priority: Priority,
        type: PushType?,
        expires: Moment,
        acceptedAt: Moment,
        content: PushContent
    ) {
        self.number = number
        self.registration = registration
        self.apnsID = apnsID
        self.uniqueID = uniqueID
        self.priority = priority
        self.type = type
        self.expires = expires
        self.acceptedAt = acceptedAt
        self.content = content
    }

    /// Sent at most once and never stored: its expiration was 0 or already past when it came.
    package var isOnce: Bool { expires <= acceptedAt }
}

/// What a push says: its payload and, in the same memory, its collapse id. The payload of one that waits for long is in
/// the store alone.
package struct PushContent: Sendable {
    /// The payload, if it is here, byte for byte as the provider sent it; then the collapse id.
    package let bytes: [UInt8]
    /// Bytes of the payload; with the flag in one word, because a million wait.
    private let size: Int32
    /// False while the payload is in the store alone.
    package let hasPayload: Bool

    /// The collapse id has at most `Limits.collapseID` bytes; none means that there is none.
    package init(payload: ArraySlice<UInt8>, collapseID: ArraySlice<UInt8> = []) {
        bytes = collapseID.isEmpty ? Array(payload) : Array(payload) + collapseID
        (size, hasPayload) = (Int32(payload.count), true)
    }

    /// The content of a push whose payload, of so many bytes, is in the store.
    package init(storedPayloadCount count: Int, collapseID: [UInt8]) {
        (bytes, size, hasPayload) = (collapseID, Int32(count), false)
    }

    /// The same in the memory of an earlier content.
    package init(payload: ArraySlice<UInt8>, collapseID: ArraySlice<UInt8>, in room: consuming [UInt8]) {
        room.removeAll(keepingCapacity: true)
        room.append(contentsOf: payload)
        if !collapseID.isEmpty { room.append(contentsOf: collapseID) }
        bytes = room
        (size, hasPayload) = (Int32(payload.count), true)
    }

    /// The same without a copy, for what has no collapse id.
    package init(payload: [UInt8]) {
        bytes = payload
        (size, hasPayload) = (Int32(payload.count), true)
    }

    /// Bytes of the payload, wherever it is.
    package var payloadCount: Int { Int(size) }
    /// The payload alone; empty while it is in the store.
    package var payload: ArraySlice<UInt8> { bytes[..<collapseStart] }
    /// As the provider sent it; empty when there is none.
    package var collapseID: ArraySlice<UInt8> { bytes[collapseStart...] }
    /// Whether it may take another's place.
    package var hasCollapseID: Bool { bytes.count > collapseStart }
    private var collapseStart: Int { hasPayload ? payloadCount : 0 }
}

/// A push in the hands of its home: one object from its acceptance to its end, so that queue, effects and connection
/// pass a reference on. It is used again for a later push once nobody holds it any more.
package final class QueuedPush {
    /// The push.
    package private(set) var push: Push

    package init(_ push: Push) { self.push = push }

    /// The push is over: gives up the memory of its content, which it no longer has. For the only holder.
    package func takeRoom() -> [UInt8] {
        let room = push.content.bytes
        push.content = PushContent(payload: [])
        return room
    }

    /// Becomes another push, after `takeRoom`.
    package func become(_ push: Push) { self.push = push }

    /// Leaves the payload to the store, which has it. For the only holder.
    func unload() {
        let collapseID = Array(push.content.collapseID)
        push.content = PushContent(storedPayloadCount: push.content.payloadCount, collapseID: collapseID)
    }

    /// The payload has come from the store.
    func load(_ payload: [UInt8]) {
        guard !push.content.hasPayload else { return }
        push.content =
            push.content.hasCollapseID
            ? PushContent(payload: payload[...], collapseID: push.content.collapseID) : PushContent(payload: payload)
    }
}
