import Storage

/// The changes of a push as the delivery log's file holds them: all of them or a refusal, however they are cut.
func fuzzDelivery(_ input: [UInt8]) {
    guard let changes = DeliveryCode.changes(input) else { return }
    precondition(changes.count * DeliveryCode.changeSize == input.count, "a change was lost or made up")

    var parts: [DeliveryChange] = []
    for start in stride(from: 0, to: input.count, by: DeliveryCode.changeSize) {
        parts += DeliveryCode.changes(Array(input[start..<start + DeliveryCode.changeSize])) ?? []
    }
    precondition(parts == changes, "the parts are not the whole")
}
