/// One notification that was accepted: every field already valid. Immutable, so loops and the store share it freely.
package final class Push: Sendable {
    /// Rises with acceptance over the whole instance; the store's key and the base of the id on the device wire.
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
    /// As the provider sent it; empty when there is none. At most 64 bytes.
    package let collapseID: [UInt8]
    /// When its home took it.
    package let acceptedAt: Moment
    /// The request's body, byte for byte.
    package let payload: [UInt8]

    package init(
        number: UInt64,
        registration: UInt64,
        apnsID: UUIDText,
        uniqueID: UniqueID,
        priority: Priority,
        type: PushType?,
        expires: Moment,
        collapseID: [UInt8],
        acceptedAt: Moment,
        payload: [UInt8]
    ) {
        self.number = number
        self.registration = registration
        self.apnsID = apnsID
        self.uniqueID = uniqueID
        self.priority = priority
        self.type = type
        self.expires = expires
        self.collapseID = collapseID
        self.acceptedAt = acceptedAt
        self.payload = payload
    }

    /// Sent at most once and never stored: its expiration was 0 or already past when it came.
    package var isOnce: Bool { expires <= acceptedAt }
}
