package import PushCore

/// Values with defaults, so that a test names only what it is about.
package enum Sample {
    package static let now = Moment(seconds: 1_700_000_000)

    /// What a push says unless told otherwise.
    package static let payload = Array(#"{"aps":{}}"#.utf8)

    /// A push as a store on a disk gives it back at the start: its payload stays there.
    package static func unloaded(_ push: Push) -> Push {
        Push(
            number: push.number,
            registration: push.registration,
            apnsID: push.apnsID,
            uniqueID: push.uniqueID,
            priority: push.priority,
            type: push.type,
            expires: push.expires,
            acceptedAt: push.acceptedAt,
            content: PushContent(
                storedPayloadCount: push.content.payloadCount,
                collapseID: Array(push.content.collapseID)
            )
        )
    }

    /// A push that was accepted at `at` and expires a day later unless told otherwise.
    package static func push(
        _ number: UInt64,
        registration: UInt64 = 1,
        priority: Priority = .immediate,
        expires: Moment? = nil,
        collapseID: String = "",
        payload: [UInt8] = payload,
        at acceptedAt: Moment = now
    ) -> Push {
        Push(
            number: number,
            registration: registration,
            apnsID: UUIDText(UniqueID(high: 0, low: 10), uppercase: true),
            uniqueID: UniqueID(high: number, low: number),
            priority: priority,
            type: .alert,
            expires: expires ?? acceptedAt + .days(1),
            acceptedAt: acceptedAt,
            content: PushContent(payload: payload[...], collapseID: Array(collapseID.utf8)[...])
        )
    }

    /// A push to be tried once: its expiration is 0.
    package static func once(
        _ number: UInt64,
        registration: UInt64 = 1,
        priority: Priority = .immediate,
        collapseID: String = "",
        at acceptedAt: Moment = now
    ) -> Push {
        push(
            number,
            registration: registration,
            priority: priority,
            expires: Moment(nanoseconds: 0),
            collapseID: collapseID,
            at: acceptedAt
        )
    }

    /// A token of the usual length whose first two bytes are `bucket`.
    package static func token(_ number: UInt8, bucket: UInt16 = 0) -> DeviceToken {
        let start = [UInt8(bucket >> 8), UInt8(truncatingIfNeeded: bucket)]
        guard let token = DeviceToken(start + [UInt8](repeating: number, count: 30)) else {
            preconditionFailure("32 bytes are a token")
        }
        return token
    }

    package static func device(_ id: UInt64 = 1, baseToken: DeviceToken = token(0xff)) -> Device {
        Device(
            id: DeviceID(id),
            name: "phone",
            keyType: .ec,
            baseToken: baseToken,
            certificateNotAfter: now + .days(365),
            createdAt: now,
            removedAt: nil
        )
    }
}
