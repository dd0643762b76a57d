import PushCore
import Testing

@Suite struct DeliveryStateTests {
    @Test func `the words are Apple's ten and two of ours`() {
        let words = [
            "received", "delivered", "delivered-from-storage", "stored-offline", "stored-power",
            "discarded-unregistered", "discarded-unregistered-from-storage", "discarded-expired", "discarded-disabled",
            "discarded-disabled-from-storage", "discarded-replaced", "discarded-undeliverable",
        ]
        #expect(DeliveryState.allCases.map(\.rawValue) == words)
    }

    @Test func `what was delivered or discarded is final and nothing else is`() {
        let open: Set<DeliveryState> = [.received, .storedOffline, .storedPower]
        #expect(Set(DeliveryState.allCases.filter { !$0.isFinal }) == open)
    }

    @Test(arguments: DiscardCause.allCases, [false, true])
    func `each cause leads to a discarded state`(_ cause: DiscardCause, _ stored: Bool) {
        let state = cause.state(stored: stored)
        #expect(state.isDiscarded)
        let tells: Set<DiscardCause> = [.unregistered, .disabled]
        #expect(state.rawValue.hasSuffix("from-storage") == (stored && tells.contains(cause)))
    }

    @Test(arguments: PushType.allCases)
    func `a push type's code leads back to it`(_ type: PushType) {
        #expect(PushType(code: type.code) == type)
    }

    @Test func `an id of a device is 16 digits and its bucket the first four`() {
        let id = DeviceID(0x00ab_0000_0000_0001)
        #expect("\(id)" == "00ab000000000001")
        #expect(DeviceID(hex: "00AB000000000001") == id)
        #expect(id.bucket == 0xab)
        #expect(
            ["", "1", "00ab00000000000g", "+0ab000000000001", "00ab0000000000012"].allSatisfy {
                DeviceID(hex: $0) == nil
            }
        )
    }
}
