-- phase: after
-- Only functions changed: a lost change whose row is locked waits alone.

-- functions: f698ee26f2970ef2cd48e951c6e5417aa6084381544f059830b6e7c0df57766e
