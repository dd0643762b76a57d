import PushCore

/// The body of each refusal, made once.
struct AnswerBodies {
    private let bodies: [Rejection: [UInt8]]

    init() {
        bodies = Dictionary(uniqueKeysWithValues: Rejection.allCases.map { ($0, $0.body()) })
    }

    subscript(rejection: Rejection) -> [UInt8] { bodies[rejection] ?? rejection.body() }
}
