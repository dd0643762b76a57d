import PushCore
import Storage

/// Values with defaults, so that a test names only what it is about.
enum Sample {
    static let now = Moment(seconds: 1_700_000_000)

    static func push(
        _ number: UInt64,
        registration: UInt64 = 1,
        collapseID: String = "",
        expires: Moment? = nil,
        payload: [UInt8]? = nil,
        uniqueID: UniqueID? = nil,
        at acceptedAt: Moment = now
    ) -> Push {
        Push(
            number: number,
            registration: registration,
            apnsID: UUIDText(Array("00000000-0000-0000-0000-\(padded(number, to: 12))".utf8).span)!,
            uniqueID: uniqueID ?? UniqueID(high: 0xabab_abab_abab_abab, low: number),
            priority: .immediate,
            type: .alert,
            expires: expires ?? acceptedAt + .days(1),
            acceptedAt: acceptedAt,
            content: PushContent(
                payload: (payload ?? Array(#"{"aps":{"alert":"\#(number)"}}"#.utf8))[...],
                collapseID: Array(collapseID.utf8)[...]
            )
        )
    }

    static func registration(_ number: UInt64, topic: String = "com.example.demo") -> Registration {
        Registration(
            number: number,
            token: token(number),
            device: DeviceID(0xfedc_ba98_0000_0000 | number),
            topic: topic,
            createdAt: now,
            state: .active,
            revokedAt: nil
        )
    }

    static func device(_ number: UInt64, name: String = "phone") -> Device {
        Device(
            id: DeviceID(0xfedc_ba98_0000_0000 | number),
            name: name,
            keyType: .ec,
            baseToken: token(number),
            certificateNotAfter: now + .days(365),
            createdAt: now,
            removedAt: nil
        )
    }

    static func key(_ keyID: String, topics: [String] = []) -> ProviderKey {
        ProviderKey(
            keyID: keyID,
            team: "DEMOTEAM01",
            environment: .all,
            topics: topics,
            publicKey: [0x30, 0, 1, 2],
            createdAt: now,
            revokedAt: nil
        )
    }

    static func token(_ number: UInt64) -> DeviceToken {
        guard let token = DeviceToken((0..<32).map { UInt8(truncatingIfNeeded: number &+ $0) }) else {
            preconditionFailure("32 bytes are a token")
        }
        return token
    }

    private static func padded(_ number: UInt64, to count: Int) -> String {
        let digits = "\(number)"
        return String(repeating: "0", count: max(0, count - digits.count)) + digits
    }
}

extension StoreSnapshot {
    var numbers: [UInt64] { pushes.map(\.number) }
}
